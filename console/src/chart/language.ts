/**
 * Makes `navigator.language` a tag that Intl takes. uPlot formats numbers with it as it is loaded, and Chromium in the locale
 * C of a container or a screen on a wall says `en-US@posix`. To be imported before uPlot.
 */
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  const language = navigator.language.split('@', 1)[0]
  Object.defineProperty(navigator, 'language', { value: language, configurable: true })
}

export {}
