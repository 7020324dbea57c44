"""From a table to a report: analysis, verdict, page and files."""
