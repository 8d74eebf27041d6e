"""The site: every claim, statement, certificate, figure and race on static pages, written by `python -m paper.site`."""
