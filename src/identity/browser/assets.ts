/** What pages load, all from our own origin and named by its content, so that it may be cached for good. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { createStylesheet } from '../pages/stylesheet.ts'

export interface Assets {
  readonly stylesheet: string
  readonly passkeyScript: string
  readonly signedOutScript: string
  readonly logo: string | undefined
}

export interface Logo {
  readonly content: Buffer
  /** Of its file name, such as .svg. */
  readonly ending: string
}

export interface AssetOptions {
  /** Path of the issuer, empty at the root. */
  readonly base: string
  readonly colour: string
  /** The operator's mark; undefined for ours. */
  readonly logo: Logo | undefined
}

const LOGO_TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
}

export function registerAssets(app: FastifyInstance, { base, colour, logo }: AssetOptions): Assets {
  const stylesheet = createStylesheet(colour)
  return {
    stylesheet: serve(stylesheet.name, 'text/css; charset=utf-8', stylesheet.text),
    passkeyScript: serveScript('passkey'),
    signedOutScript: serveScript('signed-out'),
    logo: logo === undefined ? undefined : serveLogo(logo),
  }

  function serveScript(name: string): string {
    const text = readFileSync(new URL(`../pages/scripts/${name}.js`, import.meta.url), 'utf8')
    return serve(`${name}-${digest(text)}.js`, 'text/javascript; charset=utf-8', text)
  }

  function serveLogo({ content, ending }: Logo): string {
    return serve(`logo-${digest(content)}${ending}`, LOGO_TYPES[ending] ?? 'application/octet-stream', content)
  }

  function serve(name: string, type: string, content: string | Buffer): string {
    app.get(`/assets/${name}`, async (_request, reply) =>
      reply.type(type).header('cache-control', 'public, max-age=31536000, immutable').send(content),
    )
    return `${base}/assets/${name}`
  }
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12)
}
