/** The locale of numbers and times: the user's own where it is of the page's language. */

/** Tests of what has no page import this, too. */
const page: { readonly documentElement: { readonly lang: string } } | undefined = Reflect.get(globalThis, 'document')
const language = page?.documentElement.lang

/** Undefined for that of the system. */
export const LOCALE: string | undefined =
  language === undefined || navigator.language.startsWith(language)
    ? undefined
    : (navigator.languages.find((tag) => tag.startsWith(language)) ?? language)
