/** `/client`: the client library for pages, which import it from here, and for programs, which install it from here. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { VERSION } from 'gatehouse-protocol'
import { type CompressedContent, compress, sendCompressed, tagOf } from '../http/compressed.ts'
import type { Context } from '../http/context.ts'
import type { CorsPolicy } from '../http/cors.ts'
import type { Route, RouteGroup } from '../http/route.ts'
import { CLIENT_FOLDER, IS_CLONE } from '../lib/program-files.ts'

/** A clone may build another library of the same version. */
const FOREVER = IS_CLONE ? 'no-cache' : 'public, max-age=31536000, immutable'

/** `cors` has the origins of registered applications: a page of another origin imports modules as it calls the server. */
export function clientLibraryGroup(cors: CorsPolicy): RouteGroup {
  return {
    at: ['/client'],
    limit: 'pages',
    cors,
    headers: { 'cross-origin-resource-policy': 'cross-origin' },
    routes: [
      ...routesOf('gatehouse', 'js', readModule),
      ...routesOf('gatehouse-client', 'tgz', () => readPackage('package.tgz')),
    ],
  }
}

/** By its name, always the library of this server; by its name and version, for ever. */
function routesOf(name: string, ending: string, read: () => Promise<CompressedContent>): Route[] {
  let content: Promise<CompressedContent> | undefined
  const send = (cacheControl: string) => async (context: Context) => {
    if (IS_CLONE) content = undefined
    content ??= read()
    const file = await content.catch((error) => {
      content = undefined
      throw error
    })
    context.setHeader('cache-control', cacheControl)
    sendCompressed(context, file)
  }
  return [
    { method: 'GET', path: `/client/${name}.${ending}`, handle: send('no-cache') },
    { method: 'GET', path: `/client/${name}-${VERSION}.${ending}`, handle: send(FOREVER) },
  ]
}

async function readModule(): Promise<CompressedContent> {
  const text = await readFile(join(CLIENT_FOLDER, 'index.min.js'), 'utf8')
  // The map is part of the package, not of what is served.
  return compress('text/javascript; charset=utf-8', text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'))
}

async function readPackage(name: string): Promise<CompressedContent> {
  const content = await readFile(join(CLIENT_FOLDER, name))
  return { type: 'application/gzip', tag: tagOf(content), content, br: content, gzip: content }
}
