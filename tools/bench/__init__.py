"""`make bench`: the table of speeds and sizes, as text and as JSON."""
