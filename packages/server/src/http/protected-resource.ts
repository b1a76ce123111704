/** Where a refused caller finds the metadata of the resource that it asked for (RFC 9728 §5.1). */

export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The documents of the built-in services by the first segment of a path, in lower case; all others have that of the server. */
const DOCUMENTS: ReadonlyMap<string, string> = new Map([
  ['query', '/query'],
  ['catalogue', '/query'],
  ['saved', '/query'],
  ['feeds', '/Platform'],
  ['platform', '/Platform'],
])

/** From a path below the issuer to the address of its document. */
export function createResourceMetadata(issuer: string): (path: string) => string {
  return (path) => {
    const [, segment = ''] = path.split('/', 2)
    return `${issuer}${RESOURCE_METADATA_PATH}${DOCUMENTS.get(segment.toLowerCase()) ?? ''}`
  }
}
