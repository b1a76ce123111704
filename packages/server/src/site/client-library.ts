/** `/client`: the client library for pages, which import it from here, and for programs, which install it from here. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { VERSION } from 'gatehouse-protocol'
import { type CompressedContent, compress, sendCompressed, weakEtag } from '../http/compressed.ts'
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
      ...libraryRoutes('gatehouse', 'js', { file: 'index.min.js', read: readModule }),
      ...libraryRoutes('gatehouse-dpop', 'js', { file: 'dpop.min.js', read: readModule }),
      ...libraryRoutes('gatehouse-client', 'tgz', { file: 'package.tgz', read: readPackage }),
    ],
  }
}

interface Source {
  readonly file: string
  readonly read: (path: string) => Promise<CompressedContent>
}

/** By its name, always the library of this server; by its name and version, for ever. */
function libraryRoutes(name: string, ending: string, source: Source): Route[] {
  const read = cached(source)
  const send = (cacheControl: string) => async (context: Context) => {
    const file = await read()
    context.setHeader('cache-control', cacheControl)
    sendCompressed(context, file)
  }
  return [
    { method: 'GET', path: `/client/${name}.${ending}`, handle: send('no-cache') },
    { method: 'GET', path: `/client/${name}-${VERSION}.${ending}`, handle: send(FOREVER) },
  ]
}

/** Reads and compresses the file once, and again if it has changed, which happens in a clone only. */
function cached({ file, read }: Source): () => Promise<CompressedContent> {
  const path = join(CLIENT_FOLDER, file)
  let held: { readonly changedAt: number; readonly content: Promise<CompressedContent> } | undefined
  return async () => {
    const changedAt = IS_CLONE ? (await stat(path)).mtimeMs : 0
    if (held?.changedAt !== changedAt) held = { changedAt, content: read(path) }
    const { content } = held
    return content.catch((error) => {
      held = undefined
      throw error
    })
  }
}

async function readModule(path: string): Promise<CompressedContent> {
  const text = await readFile(path, 'utf8')
  // The map is part of the package, not of what is served.
  return compress('text/javascript; charset=utf-8', text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'))
}

async function readPackage(path: string): Promise<CompressedContent> {
  const content = await readFile(path)
  return { type: 'application/gzip', tag: weakEtag(content), content, br: content, gzip: content }
}
