"""Communication patterns of netcosim: ranks, messages, bytes and the order between them."""
