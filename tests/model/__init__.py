"""A cluster in memory, for the property tests of every layer: nothing here knows a layer, or pytest."""
