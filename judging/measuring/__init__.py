"""Measuring anybody's data: long tables in, figures out, without a database.

``reading`` and ``table`` take a file apart, each module of ``kinds`` computes one kind of figures with
``judging.agreement``, and ``output`` writes them for people or as JSON.
"""
