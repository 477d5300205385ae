"""Schedules of seeded campaigns against their lower bound: the targets T1-T6 and T11 of scheduling section 7."""
