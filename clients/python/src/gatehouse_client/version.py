"""The version of this package, which is that of the product."""

VERSION = "1.0.0"
