/** Sends a page under the strictest policy that lets it work. */
import type { FastifyReply } from 'fastify'
import type { Client } from '../../store/client-metadata.ts'
import type { Brand } from '../pages/brand.ts'
import type { Html } from '../pages/html.ts'
import type { Frame } from '../pages/layout.ts'
import { chooseLanguage } from '../pages/messages/choose.ts'
import type { Assets } from './assets.ts'
import type { Visit } from './visit.ts'

export interface PageSettings {
  readonly brand: Brand
  readonly assets: Assets
  /** Path of the issuer, put before every address of ours. */
  readonly base: string
}

/** For whatever a browser gets from us, redirects and files included; a page sets a policy of its own over this one. */
export const BROWSER_HEADERS = {
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

export function frameFor(
  { brand, assets, base }: PageSettings,
  visit: Visit,
  { uiLocales, boundTo }: { uiLocales?: string | undefined; boundTo?: 'browser' | 'session' } = {},
): Frame {
  return {
    brand,
    language: chooseLanguage(uiLocales, visit.request.headers['accept-language']),
    base,
    stylesheet: assets.stylesheet,
    formToken: boundTo === undefined ? '' : visit.formToken(boundTo),
  }
}

export interface PagePolicy {
  readonly status?: number
  /** Besides our own origin: where forms may lead, redirects after them included. */
  readonly formAction?: readonly string[]
  /** 'self', or the digest of one inline script. */
  readonly scripts?: string
  readonly frames?: readonly string[]
}

export function sendPage(reply: FastifyReply, page: Html, policy: PagePolicy = {}): FastifyReply {
  return reply
    .code(policy.status ?? 200)
    .type('text/html; charset=utf-8')
    .headers(BROWSER_HEADERS)
    .header('cache-control', 'no-store')
    .header('content-security-policy', contentPolicy(policy))
    .send(page.toString())
}

function contentPolicy({ formAction = [], scripts, frames = [] }: PagePolicy): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    ...(scripts === undefined ? [] : [`script-src ${scripts}`]),
    ...(frames.length === 0 ? [] : [`frame-src ${[...new Set(frames)].join(' ')}`]),
    `form-action ${["'self'", ...new Set(formAction)].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Browsers hold `form-action` against every redirect that follows a form: all addresses of the client must be in it. */
export function addressesOf(client: Client, redirectUri?: string): string[] {
  const uris = [
    ...(redirectUri === undefined ? [] : [redirectUri]),
    ...client.redirectUris,
    ...client.postLogoutRedirectUris,
    ...client.allowedOrigins,
  ]
  return [...new Set(uris.flatMap((uri) => sourceOf(uri) ?? []))]
}

/** As a content security policy names it: an origin, or the scheme of a native application. */
export function sourceOf(uri: string): string | undefined {
  const url = URL.parse(uri)
  if (url === null) return undefined
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : url.protocol
}
