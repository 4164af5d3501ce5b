"""Reports, pages and streams at the size of a busy fleet, on real databases and servers."""
