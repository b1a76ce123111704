/** Language tags (BCP 47) that people may choose from, and whether one names a language. */

const OFFERED = [
  ...['ar', 'bg', 'ca', 'cs', 'da', 'de', 'de-AT', 'de-CH', 'el', 'en', 'en-AU', 'en-CA', 'en-GB', 'en-IE', 'en-IN'],
  ...['en-US', 'es', 'es-MX', 'et', 'fa', 'fi', 'fr', 'fr-CA', 'fr-CH', 'ga', 'he', 'hi', 'hr', 'hu', 'id', 'is', 'it'],
  ...['it-CH', 'ja', 'ko', 'lt', 'lv', 'ms', 'mt', 'nb', 'nl', 'nl-BE', 'nn', 'pl', 'pt', 'pt-BR', 'ro', 'ru', 'sk'],
  ...['sl', 'sr', 'sv', 'th', 'tr', 'uk', 'vi', 'zh-Hans', 'zh-Hant'],
]

export interface NamedLanguage {
  readonly tag: string
  /** In the language itself. */
  readonly name: string
}

let languages: readonly NamedLanguage[] | undefined

export function offeredLanguages(): readonly NamedLanguage[] {
  languages ??= OFFERED.map(named).sort((a, b) => a.name.localeCompare(b.name, 'en'))
  return languages
}

export function named(tag: string): NamedLanguage {
  const name = new Intl.DisplayNames([tag], { type: 'language', languageDisplay: 'standard' }).of(tag) ?? tag
  return { tag, name: name.charAt(0).toLocaleUpperCase(tag) + name.slice(1) }
}

/** The tag in its canonical form; undefined if it does not name a known language. */
export function languageTag(text: string): string | undefined {
  try {
    const [tag = ''] = Intl.getCanonicalLocales(text)
    const known = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' }).of(tag)
    return known === undefined ? undefined : tag
  } catch {
    return undefined
  }
}
