"""Readers: from a user's table, file or database to a :class:`kwis.data.log.LoggedBandit`."""
