/** The files that pages load, all from our own origin and named by their content, so that they can be cached forever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Route } from '../../http/route.ts'
import { logoType } from '../pages/brand.ts'
import { createStylesheet } from '../pages/stylesheet.ts'

export interface Assets {
  readonly stylesheet: string
  readonly passkeyScript: string
  readonly signedOutScript: string
  readonly logo: string | undefined
}

export interface Logo {
  readonly content: Buffer
  /** The extension of the file, such as .svg. */
  readonly ending: string
}

export interface AssetOptions {
  /** Path of the issuer, empty at the root. */
  readonly base: string
  readonly colour: string
  /** The operator's mark; undefined for ours. */
  readonly logo: Logo | undefined
}

export function createAssets({ base, colour, logo }: AssetOptions): { assets: Assets; routes: readonly Route[] } {
  const routes: Route[] = []
  const stylesheet = createStylesheet(colour)
  const assets = {
    stylesheet: serve(stylesheet.name, 'text/css; charset=utf-8', stylesheet.text),
    passkeyScript: serveScript('passkey'),
    signedOutScript: serveScript('signed-out'),
    logo: logo === undefined ? undefined : serveLogo(logo),
  }
  return { assets, routes }

  function serveScript(name: string): string {
    const text = readFileSync(new URL(`../pages/scripts/${name}.js`, import.meta.url), 'utf8')
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
