"""Decides what starts when: capacities, lower bound, waves, policies and prediction. Pure: no I/O, no threads, no clock.

The executor drives `dispatch.Dispatcher` with threads and the real clock, `simulate` drives the same class with a virtual
one, so what a plan predicts is what apply does.
"""
