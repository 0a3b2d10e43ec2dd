# SPDX-License-Identifier: Apache-2.0
"""Encrypted arrays of any shape with the vocabulary of numpy."""

from . import elementwise as elementwise  # what these modules define registers itself: see registry.py
from . import functions as functions
from . import numpy_functions as numpy_functions
from . import products as products
from . import reductions as reductions
from . import shapes as shapes
from . import statistics as statistics
