/** Makes `navigator.language` a tag that Intl takes; to be imported before uPlot, which formats numbers with it when loaded. */

// Chromium in the locale C, as in a container or on a wall, says `en-US@posix`.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  const language = navigator.language.split('@', 1)[0]
  Object.defineProperty(navigator, 'language', { value: language, configurable: true })
}

export {}
