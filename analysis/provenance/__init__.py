"""Where the numbers come from: digests, study versions, and changes of items between them."""
