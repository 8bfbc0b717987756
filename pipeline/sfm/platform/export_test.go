package platform

// WebTo is the type web with another rule for which addresses are public.
var WebTo = webTo
