/** The language of the texts: chosen here, or else that of the user's account, or else that of the browser. */
import { effect } from '@preact/signals'
import { user } from '../gate.ts'
import { server } from '../server.ts'

const KEY = 'gatehouse:language'
/** The server reads it. */
const COOKIE = 'console_language'
const YEAR_S = 31_536_000

export interface NamedLanguage {
  readonly tag: string
  /** In the language itself. */
  readonly name: string
}

export const LANGUAGES: readonly NamedLanguage[] = server.languages.map((tag) => ({
  tag,
  name: new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag,
}))

export function setLanguage(tag: string): void {
  localStorage.setItem(KEY, tag)
  remember(tag)
  if (tag !== server.language) location.reload()
}

/** Loads the page again if the user wants another language than the browser. */
export function followLanguage(): void {
  effect(() => {
    if (user.value === undefined) return
    const wanted = [localStorage.getItem(KEY), accountLanguage()].find((tag) => isKnown(tag)) ?? undefined
    if (wanted === remembered()) return
    // Forgets what another user wanted, if this one has no language.
    remember(wanted)
    // Where cookies are refused, the page stays as it is.
    if (wanted === remembered() && wanted !== server.language) location.reload()
  })
}

function isKnown(tag: string | null | undefined): boolean {
  return LANGUAGES.some((language) => language.tag === tag)
}

function accountLanguage(): string | undefined {
  const locale = user.value?.locale
  return typeof locale === 'string' ? locale.split('-', 1)[0] : undefined
}

function remembered(): string | undefined {
  const given = document.cookie.split('; ').find((cookie) => cookie.startsWith(`${COOKIE}=`))
  return given?.slice(COOKIE.length + 1)
}

/** Undefined forgets it. */
function remember(tag: string | undefined): void {
  const age = tag === undefined ? 0 : YEAR_S
  // biome-ignore lint/suspicious/noDocumentCookie: the other interface is missing on pages without TLS
  document.cookie = `${COOKIE}=${tag ?? ''}; path=${server.base}/console; max-age=${age}; samesite=strict`
}
