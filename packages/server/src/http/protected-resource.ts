/** Where a refused caller finds the metadata of the resource that it asked for (RFC 9728 §5.1). */
import { AGENT_PATH } from 'gatehouse-protocol'

export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The documents of the built-in services by the first segment of a path, in lower case; all others have that of the server. */
const DOCUMENTS: ReadonlyMap<string, string> = new Map([
  ['query', '/query'],
  ['catalogue', '/query'],
  ['saved', '/query'],
  ['feeds', '/Platform'],
  ['platform', '/Platform'],
  ['mcp', AGENT_PATH],
])

/** From a path below the issuer to what a challenge says about its resource: the address of its document, to agents also the scopes to ask for. */
export function createResourceMetadata(
  issuer: string,
  agentScopes: () => readonly string[],
): (path: string) => ResourceHint {
  return (path) => {
    const [, segment = ''] = path.split('/', 2)
    const resource = DOCUMENTS.get(segment.toLowerCase()) ?? ''
    return {
      document: `${issuer}${RESOURCE_METADATA_PATH}${resource}`,
      scopes: resource === AGENT_PATH ? agentScopes() : [],
    }
  }
}

export interface ResourceHint {
  readonly document: string
  readonly scopes: readonly string[]
}
