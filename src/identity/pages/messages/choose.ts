/** Which language a page speaks: what the request asks for first, then what the browser prefers, then English. */
import { de } from './de.ts'
import { en, type Messages } from './en.ts'

export interface Language {
  /** As the page's `lang` says it. */
  readonly tag: string
  readonly messages: Messages
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  en: { tag: 'en', messages: en },
  de: { tag: 'de', messages: de },
}

/** For discovery's `ui_locales_supported`. */
export const LANGUAGE_TAGS: readonly string[] = Object.keys(LANGUAGES)

const ENGLISH: Language = { tag: 'en', messages: en }
const MOST_WISHES = 20

/** `ui_locales` is a list by preference (OpenID Connect Core §3.1.2.1); no value of either is ever an error. */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string | undefined): Language {
  const wishes = [...(uiLocales ?? '').split(' '), ...preferred(acceptLanguage ?? '')]
  for (const wish of wishes.slice(0, MOST_WISHES)) {
    const primary = wish.trim().toLowerCase().split('-', 1)[0] ?? ''
    const language = Object.hasOwn(LANGUAGES, primary) ? LANGUAGES[primary] : undefined
    if (language !== undefined) return language
  }
  return ENGLISH
}

/** RFC 9110 §12.5.4: the tags of Accept-Language, best first, without those refused by q=0. */
function preferred(header: string): string[] {
  return header
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';').map((piece) => piece.trim())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)
}
