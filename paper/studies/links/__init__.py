"""What sending less is worth over a link that is slower than memory: the studies `links` and `link_accuracy_*`."""
