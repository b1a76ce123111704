/** The files that pages load, all from our own origin and named by their content, so that they can be cached forever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Route } from '../../http/route.ts'
import { PAGE_FILES } from '../../lib/program-files.ts'
import { type Brand, logoType, markFile } from '../pages/brand.ts'
import { fontFiles, interfaceFont } from '../pages/fonts.ts'
import type { PageAssets } from '../pages/layout.ts'
import { documentationStyles, pageStyles } from '../pages/stylesheet.ts'

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
export function createAssets({ base, brand }: AssetOptions): { assets: PageAssets; routes: readonly Route[] } {
  const { colour, logo } = brand
  const routes: Route[] = []
  const ownLogo = logo === undefined ? undefined : serveLogo(logo)
  for (const { name, content } of fontFiles()) serve(name, 'font/woff2', content)
  const assets = {
    font: interfaceFont(base),
    stylesheet: serveStyles('pages', pageStyles(colour, base)),
    documentationStylesheet: serveStyles('documentation', documentationStyles()),
    controlsScript: serveScript('controls'),
    passkeyScript: serveScript('passkey'),
    signedOutScript: serveScript('signed-out'),
    themeScript: serveScript('theme'),
    healthScript: serveScript('health'),
    pricesScript: serveScript('prices'),
    recentScript: serveScript('recent'),
    documentationScript: serveScript('documentation'),
    logo: ownLogo,
    icon: ownLogo ?? serveLogo({ content: Buffer.from(markFile(colour)), ending: '.svg' }),
  }
  return { assets, routes }

  function serveStyles(name: string, text: string): string {
    return serve(`${name}-${digest(text)}.css`, CSS, text)
  }

  function serveScript(name: string): string {
    const text = readFileSync(new URL(`scripts/${name}.js`, PAGE_FILES), 'utf8')
    return serve(`${name}-${digest(text)}.js`, 'text/javascript; charset=utf-8', text)
  }

  function serveLogo({ content, ending }: Logo): string {
    return serve(`logo-${digest(content)}${ending}`, logoType(ending), content)
  }

  function serve(name: string, type: string, content: string | Buffer): string {
    routes.push({
      method: 'GET',
      path: `/assets/${name}`,
      handle(context) {
        context.setHeader('cache-control', 'public, max-age=31536000, immutable')
        context.send(type, content)
      },
    })
    return `${base}/assets/${name}`
  }
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12)
}
