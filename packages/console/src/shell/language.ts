/** The language of the texts: chosen here, or in the user's account, or that of the browser. */
import { effect } from '@preact/signals'
import { user } from '../gate.ts'
import { server } from '../server.ts'

const KEY = 'gatehouse:language'
const COOKIE = 'console_language'
const YEAR_S = 31_536_000

export interface NamedLanguage {
  readonly tag: string
  /** In the language itself. */
  readonly name: string
}

export const LANGUAGES: readonly NamedLanguage[] = (server.languages ?? []).map((tag) => ({
  tag,
  name: new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag,
}))

export function setLanguage(tag: string): void {
  localStorage.setItem(KEY, tag)
  load(tag)
}

/** Loads the page again if the user wants another language than the browser. */
export function followLanguage(): void {
  effect(() => {
    const wanted = localStorage.getItem(KEY) ?? accountLanguage()
    if (wanted !== undefined && server.languages.includes(wanted)) load(wanted)
  })
}

function accountLanguage(): string | undefined {
  const locale = user.value?.locale
  return typeof locale === 'string' ? locale.split('-', 1)[0] : undefined
}

/** The server reads the cookie; where cookies are refused, the page stays as it is. */
function load(tag: string): void {
  const cookie = `${COOKIE}=${tag}`
  const isKnown = document.cookie.split('; ').includes(cookie)
  // biome-ignore lint/suspicious/noDocumentCookie: the other interface is missing on pages without TLS
  document.cookie = `${cookie}; path=${server.base}/console; max-age=${YEAR_S}; samesite=strict`
  if (tag !== server.language && !isKnown) location.reload()
}
