/** Chooses the language of a page: `ui_locales` of the request first, then Accept-Language, then English. */
import { preferredLanguages, primaryLanguage } from '../../../http/request/accept.ts'
import { languageTag } from '../../../lib/language-tags.ts'
import { de } from './de.ts'
import { en, type Messages } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'

export interface Language {
  /** For the `lang` attribute. */
  readonly tag: string
  /** For dates and numbers: the tag that was asked for, such as `en-GB`. */
  readonly locale: string
  readonly messages: Messages
}

const ENGLISH: Language = { tag: 'en', locale: 'en', messages: en }
const LANGUAGES: ReadonlyMap<string, Language> = new Map([
  ['en', ENGLISH],
  ['de', { tag: 'de', locale: 'de', messages: de }],
  ['es', { tag: 'es', locale: 'es', messages: es }],
  ['fr', { tag: 'fr', locale: 'fr', messages: fr }],
])

/** For discovery's `ui_locales_supported`. */
export const LANGUAGE_TAGS: readonly string[] = [...LANGUAGES.keys()]

/** `ui_locales` is a list in order of preference (OpenID Connect Core §3.1.2.1). Unknown and malformed values are ignored. */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string | undefined): Language {
  for (const tag of preferredLanguages((uiLocales ?? '').split(' '), acceptLanguage)) {
    const language = LANGUAGES.get(primaryLanguage(tag))
    if (language !== undefined) return { ...language, locale: languageTag(tag) ?? language.tag }
  }
  return ENGLISH
}
