/** Sends pages with the strictest content security policy that lets them work. */
import type { Context } from '../../http/context.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { BUSY_SECONDS } from '../attempts.ts'
import type { Brand } from '../pages/brand.ts'
import type { FormError } from '../pages/form-parts.ts'
import type { Html } from '../pages/html.ts'
import type { PageAssets, PageFrame, Place } from '../pages/layout.ts'
import type { Messages } from '../pages/messages/en.ts'
import { chooseLanguage } from '../pages/messages/language.ts'
import type { BrowserContext } from './browser-context.ts'
import type { FlowInteraction } from './flow.ts'
import { findRequestClient, type RequestClientEnv } from './request-client.ts'

/** What all pages of this node share. */
export interface PageSettings {
  readonly brand: Brand
  readonly assets: PageAssets
  /** The path of the issuer; the prefix of all our links. */
  readonly base: string
  readonly places: readonly Place[]
  readonly scopes?: PageFrame['scopes']
}

/** On all replies to browsers, including redirects and files; pages set their own policy. */
export const BROWSER_HEADERS = {
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

export function frameFor(
  pages: PageSettings,
  context: BrowserContext,
  { uiLocales, boundTo }: { uiLocales?: string | undefined; boundTo?: 'browser' | 'session' } = {},
): PageFrame {
  const chosen = [uiLocales, context.user?.profile.locale].filter((locale) => typeof locale === 'string').join(' ')
  return {
    ...anonymousFrame(pages, context.http, chosen),
    formToken: boundTo === undefined ? '' : context.formToken(boundTo),
  }
}

/** The frame of a page within a sign-in, the client that it is for, and the addresses that its form may lead to. */
export async function frameOfFlow(
  context: BrowserContext,
  { details }: FlowInteraction,
  boundTo: 'browser' | 'session',
  { pages, ...env }: RequestClientEnv & { readonly pages: PageSettings },
) {
  const request = details.kind === 'authorize' ? details.request : undefined
  const client = request === undefined ? undefined : await findRequestClient(request, env)
  const formAction = client === undefined ? [] : formActionSources(client, request?.target.redirectUri)
  return { frame: frameFor(pages, context, { uiLocales: request?.uiLocales, boundTo }), request, client, formAction }
}

/** What a form says after an attempt, in the language of the page. */
export type FormErrorIn = (text: Messages) => FormError

/** The page after an attempt. */
export interface FormReply {
  readonly status: number
  readonly error: FormErrorIn
}

/** For an attempt that was not made: too many have failed or are in progress. */
export function replyLater(
  http: Context,
  { outcome, seconds = BUSY_SECONDS }: { readonly outcome: 'delayed' | 'busy'; readonly seconds?: number },
): FormReply {
  http.setHeader('retry-after', String(seconds))
  return { status: outcome === 'busy' ? 503 : 429, error: (text) => ({ text: text.tryLater(seconds) }) }
}

/** For pages without forms that show nothing about a user. */
export function anonymousFrame(pages: PageSettings, { headers }: Pick<Context, 'headers'>, locales = ''): PageFrame {
  return { ...pages, language: chooseLanguage(locales, headers['accept-language']), formToken: '' }
}

export interface PagePolicy {
  readonly status?: number
  /** Form targets besides our own origin, including redirects after a form. */
  readonly formAction?: readonly string[]
  /** 'self', or the digest of one inline script. */
  readonly scripts?: string
  readonly frames?: readonly string[]
  /** A script of the page makes requests to our own origin. */
  readonly connects?: boolean
}

export function sendPage(http: Context, page: Html, policy: PagePolicy = {}): void {
  http.setHeaders({
    ...BROWSER_HEADERS,
    'cache-control': 'no-store',
    'content-security-policy': contentPolicy(policy),
  })
  http.send('text/html; charset=utf-8', page.toString(), policy.status)
}

/** HEAD of a page whose GET has effects. HEAD must not have them, so the headers of GET cannot be computed. */
export function answerHead(http: Context): void {
  http.setHeader('cache-control', 'no-store')
  http.stream('text/html; charset=utf-8').end()
}

export function contentPolicy({ formAction = [], scripts, frames = [], connects = false }: PagePolicy): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    ...(scripts === undefined ? [] : [`script-src ${scripts}`]),
    ...(connects ? ["connect-src 'self'"] : []),
    ...(frames.length === 0 ? [] : [`frame-src ${[...new Set(frames)].join(' ')}`]),
    `form-action ${["'self'", ...new Set(formAction)].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Browsers apply `form-action` to redirects after a form as well: it must contain all URIs of the client. */
export function formActionSources(client: Client, redirectUri?: string): string[] {
  const uris = [
    ...(redirectUri === undefined ? [] : [redirectUri]),
    ...client.redirectUris,
    ...client.postLogoutRedirectUris,
    ...client.allowedOrigins,
  ]
  return [...new Set(uris.flatMap((uri) => cspSource(uri) ?? []))]
}

/** As a CSP source: an origin, or the scheme of a native application; undefined for what would change the policy. */
export function cspSource(uri: string): string | undefined {
  const url = URL.parse(uri)
  if (url === null) return undefined
  const source = url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : url.protocol
  // Registration refuses such hosts; older versions did not.
  return /^[\w.:/[\]+-]+$/.test(source) ? source : undefined
}
