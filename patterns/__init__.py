"""Communication patterns: ranks, messages, bytes and the order between them."""
