/* The Python module: one class, Decoder. Everything that knows Python is here. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "arrow.h"
#include "drain.h"

typedef struct {
    PyObject_HEAD
    batch batch;
    libpq pq;
    bool busy;   /* a thread is in `drain`, without the lock */
    bool broken; /* a problem was met: what follows in the stream means nothing */
} decoder;

static PyObject *decode_error;

static const char *const REASONS[] = {
    [FINE] = "fine",
    [NO_MEMORY] = "memory",
    [BAD_HEADER] = "the stream does not begin like COPY binary",
    [CUT_ROW] = "a row ends before its own length says",
    [BAD_COUNT] = "a row has another number of fields than there are columns",
    [AFTER_END] = "rows follow the end of the stream",
    [BAD_LENGTH] = "a value has a length that its type does not have",
    [BAD_VALUE] = "a value has bytes that its type does not have",
    [TOO_LARGE] = "more than 2 GiB in one column of a batch",
    [DOES_NOT_FIT] = "a value has more digits than its column was declared with",
    [OTHER_ELEMENTS] = "an array holds elements of another type than its column",
    [DIMENSIONS] = "an array has dimensions that a list cannot keep",
};

static PyObject *refused(decoder *self, problem found) {
    self->broken = true;
    if (found == NO_MEMORY) return PyErr_NoMemory();
    const char *detail = found == DIMENSIONS ? dimensions_seen() : "";
    PyObject *values = Py_BuildValue("(iss)", self->batch.failed_column, REASONS[found], detail);
    if (values != NULL) {
        PyErr_SetObject(decode_error, values);
        Py_DECREF(values);
    }
    return NULL;
}

static bool usable(decoder *self) {
    if (!self->busy && !self->broken) return true;
    PyErr_SetString(PyExc_RuntimeError, self->busy ? "another thread reads with this decoder" : "this decoder met an error");
    return false;
}

/* Read (kind, precision, scale, whether it is a list of that, the oid of a list's elements). */
static bool read_field(PyObject *item, column *into) {
    int kind, precision, scale, list;
    unsigned int element;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a column is (kind, precision, scale, list, element)");
        return false;
    }
    if (!PyArg_ParseTuple(item, "iiipI", &kind, &precision, &scale, &list, &element)) return false;
    int most = kind == DECIMAL128 ? 38 : kind == DECIMAL256 ? 76 : 0;
    if (kind < 0 || kind >= LIST || precision < 0 || precision > most || scale < 0 || scale > precision) {
        PyErr_SetString(PyExc_ValueError, "no such column");
        return false;
    }
    column_start(into, (field){.kind = kind, .precision = precision, .scale = scale}, NULL);
    if (!list) return true;
    column *items = malloc(sizeof *items);
    if (items == NULL) {
        PyErr_NoMemory();
        return false;
    }
    *items = *into;
    column_start(into, (field){.kind = LIST, .element = element}, items);
    return true;
}

static PyObject *decoder_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"columns", "functions", NULL};
    PyObject *fields;
    unsigned long long get, consume, socket, release;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "O!(KKKK)", names, &PyTuple_Type, &fields, &get, &consume, &socket, &release))
        return NULL;
    Py_ssize_t count = PyTuple_Size(fields);
    if (count >= INT16_MAX) return PyErr_Format(PyExc_ValueError, "a row has at most %d columns", INT16_MAX - 1);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    decoder *self = (decoder *)allocate(type, 0);
    if (self == NULL) return NULL;
    column *columns = calloc((size_t)count + 1, sizeof *columns);
    if (columns == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    bool fine = true;
    for (Py_ssize_t i = 0; fine && i < count; i++) fine = read_field(PyTuple_GetItem(fields, i), &columns[i]);
    batch_start(&self->batch, columns, (int)count);
    self->pq.get_copy_data = (int (*)(void *, char **, int))(uintptr_t)get;
    self->pq.consume_input = (int (*)(void *))(uintptr_t)consume;
    self->pq.socket = (int (*)(const void *))(uintptr_t)socket;
    self->pq.free_memory = (void (*)(void *))(uintptr_t)release;
    if (fine) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void decoder_free(PyObject *object) {
    decoder *self = (decoder *)object;
    PyTypeObject *type = Py_TYPE(object);
    batch_free(&self->batch);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *decoder_feed(PyObject *object, PyObject *message) {
    decoder *self = (decoder *)object;
    Py_buffer view;
    if (!usable(self) || PyObject_GetBuffer(message, &view, PyBUF_SIMPLE) != 0) return NULL;
    problem found = batch_feed(&self->batch, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    if (found != FINE) return refused(self, found);
    Py_RETURN_NONE;
}

static PyObject *decoder_drain(PyObject *object, PyObject *arguments) {
    decoder *self = (decoder *)object;
    unsigned long long connection;
    Py_ssize_t limit;
    int patience;
    if (!PyArg_ParseTuple(arguments, "Kni", &connection, &limit, &patience) || !usable(self)) return NULL;
    if (connection == 0 || limit <= 0 || self->pq.get_copy_data == NULL) {
        PyErr_SetString(PyExc_ValueError, "no connection to read from, or nothing to read");
        return NULL;
    }
    problem found;
    drained state;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
    state = drain(&self->pq, (void *)(uintptr_t)connection, &self->batch, (size_t)limit, patience, &found);
    Py_END_ALLOW_THREADS
    self->busy = false;
    if (state == REFUSED) return refused(self, found);
    return PyLong_FromLong(state);
}

static void capsule_free(PyObject *capsule) {
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array == NULL) return;
    if (array->release != NULL) array->release(array);
    free(array);
}

static PyObject *decoder_take(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    decoder *self = (decoder *)object;
    if (!usable(self)) return NULL;
    struct ArrowArray *array = malloc(sizeof *array);
    if (array == NULL) return PyErr_NoMemory();
    if (!arrow_export(&self->batch, array)) {
        free(array);
        return refused(self, NO_MEMORY);
    }
    PyObject *capsule = PyCapsule_New(array, "arrow_array", capsule_free);
    if (capsule == NULL) {
        array->release(array);
        free(array);
    }
    return capsule;
}

static PyObject *decoder_outside(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    decoder *self = (decoder *)object;
    if (!usable(self)) return NULL;
    PyObject *counts = PyTuple_New(self->batch.count);
    for (int i = 0; counts != NULL && i < self->batch.count; i++) {
        column *one = &self->batch.columns[i];
        column *counted = one->items != NULL ? one->items : one;
        PyObject *count = PyLong_FromLongLong(counted->outside);
        counted->outside = 0;
        if (count == NULL || PyTuple_SetItem(counts, i, count) != 0) {
            Py_DECREF(counts);
            return NULL;
        }
    }
    return counts;
}

static PyObject *decoder_rows(PyObject *object, void *Py_UNUSED(closure)) {
    return PyLong_FromLongLong(((decoder *)object)->batch.rows);
}

static PyObject *decoder_bytes(PyObject *object, void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(batch_bytes(&((decoder *)object)->batch));
}

static PyObject *decoder_ended(PyObject *object, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(((decoder *)object)->batch.ended);
}

static PyMethodDef METHODS[] = {
    {"feed", decoder_feed, METH_O, "Take one message of a stream."},
    {"drain", decoder_drain, METH_VARARGS, "Take messages of a connection until there are so many bytes."},
    {"take", decoder_take, METH_NOARGS, "Return the rows so far as an `arrow_array` capsule."},
    {"outside", decoder_outside, METH_NOARGS, "Return how many values of each column became NULL since the last call."},
    {0},
};

static PyGetSetDef PROPERTIES[] = {
    {.name = "rows", .get = decoder_rows, .doc = "Rows that wait to be taken."},
    {.name = "bytes", .get = decoder_bytes, .doc = "Bytes that wait to be taken."},
    {.name = "ended", .get = decoder_ended, .doc = "Whether the stream's trailer has come."},
    {0},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, "Decodes one stream of COPY binary into columns of Arrow."},
    {Py_tp_new, decoder_new},
    {Py_tp_dealloc, decoder_free},
    {Py_tp_methods, METHODS},
    {Py_tp_getset, PROPERTIES},
    {0},
};

static PyType_Spec SPEC = {
    .name = "rivet_pgcopy._decoder.Decoder",
    .basicsize = sizeof(decoder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = SLOTS,
};

static PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rivet_pgcopy._decoder",
    .m_doc = "COPY binary, decoded into buffers of Arrow without holding the interpreter's lock.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__decoder(void) {
    PyObject *module = PyModule_Create(&MODULE), *type = PyType_FromSpec(&SPEC);
    decode_error = PyErr_NewExceptionWithDoc(
        "rivet_pgcopy._decoder.DecodeError", "A stream that cannot be decoded: (column or -1, reason, detail).", NULL, NULL);
    if (module == NULL || type == NULL || decode_error == NULL || PyModule_AddObjectRef(module, "Decoder", type) != 0 ||
        PyModule_AddObjectRef(module, "DecodeError", decode_error) != 0) {
        Py_XDECREF(type);
        Py_XDECREF(module);
        return NULL;
    }
    Py_DECREF(type);
    return module;
}
