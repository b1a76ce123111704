/** `/console`: the HTML page at every path below it, in the user's language, and the files that it loads, compressed and cached forever. */

import { Refusal } from 'gatehouse-protocol'
import { type CompressedContent, compress, contentDigest, sendCompressed, weakEtag } from '../http/compressed.ts'
import type { Context } from '../http/context.ts'
import { preferredLanguages, primaryLanguage } from '../http/request/accept.ts'
import { readCookie } from '../http/request/cookies.ts'
import type { RouteGroup } from '../http/route.ts'
import { type BuiltFiles, builtTime, readBuiltFiles } from './files.ts'
import { consolePage, notBuiltPage, type PageData } from './page.ts'
import { PUSH_WORKER } from './push-worker.ts'

export interface ConsoleOptions extends Omit<PageData, 'logo' | 'tokens' | 'nonce' | 'language' | 'languages'> {
  /** Where `packages/console/build.js` writes. */
  readonly folder: string
  /** CSS with the typefaces and the design tokens in the operator's colour. */
  readonly tokens: string
  /** The current nonce for DPoP proofs; undefined where none is needed. */
  readonly nonce: () => string | undefined
  readonly logo: { readonly content: Buffer; readonly ending: string; readonly type: string } | undefined
}

interface Loaded {
  readonly built: BuiltFiles
  /** By language. */
  readonly pages: Map<string, CompressedContent>
  /** In the page, which is written again when there is another. */
  readonly nonce: string | undefined
}

/** Nothing from elsewhere, nothing inline. Streams are connections to 'self' as well. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const OPENER_POLICY = 'cross-origin-opener-policy'

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  // Not same-origin: the console sees when the window of a step-up is closed.
  [OPENER_POLICY]: 'same-origin-allow-popups',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The language that the user has chosen; the console sets it. */
const LANGUAGE_COOKIE = { name: 'console_language' }
const DEFAULT_LANGUAGE = 'en'

const ASSETS = '/console/assets/'
/** Its address stays: browsers know it by that. */
const WORKER = '/console/push.js'

export function consoleGroup(options: ConsoleOptions): RouteGroup {
  const { folder, base, tokens, logo } = options
  const own = new Map([[`tokens-${contentDigest(tokens)}.css`, compress('text/css; charset=utf-8', tokens)]])
  const [tokensName = ''] = own.keys()
  const logoName = logo && `logo-${contentDigest(logo.content)}${logo.ending}`
  if (logo !== undefined && logoName !== undefined) own.set(logoName, uncompressed(logo.type, logo.content))
  const data = {
    ...options,
    tokens: `${base}${ASSETS}${tokensName}`,
    logo: logoName && `${base}${ASSETS}${logoName}`,
  }
  const worker = compress('text/javascript; charset=utf-8', PUSH_WORKER)
  const notBuilt = compress('text/html; charset=utf-8', notBuiltPage(options.name))
  let loaded: Loaded | undefined

  return {
    at: ['/console'],
    limit: 'pages',
    headers: HEADERS,
    routes: [],
    fallback: {
      method: 'GET',
      path: '/console/*',
      handle(context) {
        const isAsset = context.path.toLowerCase().startsWith(ASSETS)
        if (context.path.toLowerCase() === WORKER) sendWorker(context)
        else if (isAsset) sendAsset(context, context.path.slice(ASSETS.length))
        else sendPage(context)
      },
    },
  }

  function sendWorker(context: Context): void {
    context.setHeader('cache-control', 'no-cache')
    sendCompressed(context, worker)
  }

  function sendPage(context: Context): void {
    const page = pageIn(context)
    context.setHeader('cache-control', 'no-cache')
    context.addVary('accept-language')
    context.addVary('cookie')
    // A sign-in returns in a window that the console has opened: a policy of its own would separate the two.
    if (String(context.query.get('state')).startsWith('p.')) context.setHeader(OPENER_POLICY, 'unsafe-none')
    sendCompressed(context, page ?? notBuilt, page === undefined ? 503 : 200)
  }

  function pageIn({ headers }: Context): CompressedContent | undefined {
    const files = current()
    if (files === undefined) return undefined
    const { pages, built, nonce } = files
    const chosen = readCookie(headers.cookie, LANGUAGE_COOKIE)
    const preferred = preferredLanguages(chosen === undefined ? [] : [chosen], headers['accept-language'])
    const language = preferred.map(primaryLanguage).find((tag) => built.manifests.has(tag)) ?? DEFAULT_LANGUAGE
    const manifest = built.manifests.get(language)
    if (manifest === undefined) return undefined
    const languages = [...built.manifests.keys()]
    const page =
      pages.get(language) ??
      compress('text/html; charset=utf-8', consolePage({ ...data, nonce, language, languages }, manifest))
    pages.set(language, page)
    return page
  }

  /** Reads the files again after another build, so that no restart is needed. */
  function current(): Loaded | undefined {
    const nonce = options.nonce()
    const isBuilt = loaded !== undefined && builtTime(folder) === loaded.built.builtAt
    if (isBuilt && loaded?.nonce === nonce) return loaded
    const built = isBuilt ? loaded?.built : readBuiltFiles(folder)
    if (built !== undefined) loaded = { built, pages: new Map(), nonce }
    return loaded
  }

  function sendAsset(context: Context, name: string): void {
    const file = own.get(name) ?? (loaded ?? current())?.built.file(name)
    if (file === undefined) throw new Refusal('http.not_found', 404, 'The console has no file of this name')
    context.setHeader('cache-control', 'public, max-age=31536000, immutable')
    sendCompressed(context, file)
  }
}

function uncompressed(type: string, content: Buffer): CompressedContent {
  return { type, tag: weakEtag(content), content, br: content, gzip: content }
}
