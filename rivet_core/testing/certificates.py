"""A certificate authority for one test session, and a server certificate of it for the loopback."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rivet_core.testing.process import LOOPBACK, MissingServer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate


@dataclass(frozen=True)
class Certificates:
    """Where the files are: the authority that clients trust, the server's certificate and its key."""

    authority: Path
    certificate: Path
    key: Path


def make_certificates(directory: Path, *, authority_name: str = "rivet test authority") -> Certificates:
    """Write an authority and a certificate for 127.0.0.1 and localhost, valid for a day."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise MissingServer("a certificate", "no package cryptography", "pip install cryptography") from None
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _certificate(authority_name, authority_key, None, authority_key)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(LOOPBACK))]
    certificate = _certificate("localhost", key, authority, authority_key, names)
    made = Certificates(directory / "ca.pem", directory / "server.pem", directory / "server.key")
    made.authority.write_bytes(authority.public_bytes(form.Encoding.PEM))
    made.certificate.write_bytes(certificate.public_bytes(form.Encoding.PEM))
    made.key.touch(mode=0o600)
    made.key.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    return made


def _certificate(
    name: str,
    key: EllipticCurvePrivateKey,
    issuer: Certificate | None,
    issuer_key: EllipticCurvePrivateKey,
    names: list[Any] | None = None,
) -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key, SHA256())
