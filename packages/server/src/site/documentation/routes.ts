/** `/docs`: the documentation of this version, rendered from the files that it comes with. */
import { createHash } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { prefersHtml } from '../../http/request/accept.ts'
import { sendUnlessKnown } from '../../http/request/conditional.ts'
import type { RouteGroup } from '../../http/route.ts'
import {
  anonymousFrame,
  BROWSER_HEADERS,
  contentPolicy,
  type Html,
  type PageSettings,
} from '../../identity/page-parts.ts'
import { Library } from './library.ts'
import { documentationPage, searchPage } from './pages.ts'
import { createSearch } from './search.ts'

export function documentationGroup(pages: PageSettings, issuer: string): RouteGroup {
  const library = new Library(pages.base, issuer)
  const search = createSearch(library, pages.base)
  const get = (path: string, handle: (context: Context) => void | Promise<void>) =>
    ({ method: 'GET', path, handle }) as const
  return {
    at: ['/docs'],
    limit: 'pages',
    headers: BROWSER_HEADERS,
    routes: [
      get('/docs', (context) => show(context, '')),
      get('/docs/', (context) => context.redirect(`${pages.base}/docs`, 308)),
      get('/docs/search', showSearch),
      get('/docs/:name', (context) => show(context, context.param('name'))),
      get('/docs/:folder/:name', (context) => show(context, `${context.param('folder')}/${context.param('name')}`)),
    ],
  }

  async function show(context: Context, name: string): Promise<void> {
    const page = await library.page(name.toLowerCase())
    if (page !== undefined)
      return sendPage(context, documentationPage(anonymousFrame(pages, context), page, await library.chapters()))
    const file = await library.file(name)
    if (file === undefined) throw new Refusal('http.not_found', 404, 'The documentation has no such page')
    // A picture has its styles inside, and no script.
    context.setHeader(
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    )
    sendUnlessKnown(context, createEtag(file.content), file.type, file.content)
  }

  /** For the script of the page as JSON, for everyone else as a page. */
  async function showSearch(context: Context): Promise<void> {
    const given = context.query.get('q') ?? ''
    const query = (typeof given === 'string' ? given : given.join(' ')).trim()
    const found = await search(query)
    context.addVary('accept')
    if (!prefersHtml(context) && /\bjson\b/.test(context.headers.accept ?? '')) return context.json(found)
    sendPage(context, searchPage(anonymousFrame(pages, context), query, found, await library.chapters()))
  }
}

/** Pages contain nothing about the reader, so that browsers may keep them. */
function sendPage(context: Context, page: Html): void {
  const text = page.toString()
  context.addVary('accept-language')
  context.setHeader('content-security-policy', contentPolicy({ scripts: "'self'", connects: true }))
  sendUnlessKnown(context, createEtag(text), 'text/html; charset=utf-8', text)
}

function createEtag(content: string | Buffer): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}
