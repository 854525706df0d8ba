"""Names and shapes of other libraries, on top of kwis, so that their scripts run after a change of import."""
