"""Which of the conclusions about placement depend on the router: crossbars of any speed-up"""
