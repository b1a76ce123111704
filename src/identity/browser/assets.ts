/** The files that pages load, all from our own origin. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sendUnlessKnown } from '../../http/conditional.ts'
import type { Context } from '../../http/context.ts'
import type { Route } from '../../http/route.ts'
import { type Brand, markFile } from '../pages/brand.ts'
import type { PageAssets } from '../pages/layout.ts'
import { documentationStyles, pageStyles } from '../pages/stylesheet.ts'
import { designTokens } from '../pages/tokens.ts'

export interface Logo {
  readonly content: Buffer
  /** The extension of the file, such as .svg. */
  readonly ending: string
}

export interface AssetOptions {
  /** Path of the issuer, empty at the root. */
  readonly base: string
  readonly brand: Brand & { readonly logo: Logo | undefined }
}

const CSS = 'text/css; charset=utf-8'
const LOGO_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.webp', 'image/webp'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
])

/** For files that are named by their content. The console asks for its tokens and its brand by fixed names. */
const FOREVER = 'public, max-age=31536000, immutable'

export function createAssets({ base, brand }: AssetOptions): { assets: PageAssets; routes: readonly Route[] } {
  const { colour, logo } = brand
  const routes: Route[] = []
  const ownLogo = logo === undefined ? undefined : serveLogo(logo)
  const assets = {
    stylesheet: serveStyles('pages', pageStyles(colour)),
    documentationStylesheet: serveStyles('documentation', documentationStyles()),
    controlsScript: serveScript('controls'),
    passkeyScript: serveScript('passkey'),
    signedOutScript: serveScript('signed-out'),
    healthScript: serveScript('health'),
    documentationScript: serveScript('documentation'),
    logo: ownLogo,
    icon: ownLogo ?? serveLogo({ content: Buffer.from(markFile(colour)), ending: '.svg' }),
  }
  const { name, supportContact: contact } = brand
  const about = { name, logo: assets.logo ?? null, icon: assets.icon, support_contact: contact }
  serveByName('tokens.css', CSS, designTokens(colour))
  serveByName('brand.json', 'application/json; charset=utf-8', JSON.stringify(about))
  return { assets, routes }

  function serveStyles(name: string, text: string): string {
    return serve(`${name}-${digest(text)}.css`, CSS, text)
  }

  function serveScript(name: string): string {
    const text = readFileSync(new URL(`../pages/scripts/${name}.js`, import.meta.url), 'utf8')
    return serve(`${name}-${digest(text)}.js`, 'text/javascript; charset=utf-8', text)
  }

  function serveLogo({ content, ending }: Logo): string {
    return serve(`logo-${digest(content)}${ending}`, LOGO_TYPES.get(ending) ?? 'application/octet-stream', content)
  }

  function serve(name: string, type: string, content: string | Buffer): string {
    routes.push({
      method: 'GET',
      path: `/assets/${name}`,
      handle(context) {
        context.setHeader('cache-control', FOREVER)
        context.send(type, content)
      },
    })
    return `${base}/assets/${name}`
  }

  function serveByName(name: string, type: string, content: string): void {
    const etag = `"${digest(content)}"`
    const handle = (context: Context) => sendUnlessKnown(context, etag, type, content)
    routes.push({ method: 'GET', path: `/assets/${name}`, handle })
  }
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12)
}
