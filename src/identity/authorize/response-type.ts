/** What is asked for, and how it shall come (B-01 to B-03). */
import { parseResponseType, type ResponseType } from '../../store/client-metadata.ts'
import { refuse } from './refuse.ts'
import type { Ask } from './request.ts'
import { defaultMode } from './target.ts'

export function readResponseType({ parameters, client }: Ask): ResponseType {
  const text = parameters.get('response_type')
  if (text === undefined) throw refuse('invalid_request', 'response_type is missing')
  const type = parseResponseType(text)
  if (type === undefined) throw refuse('unsupported_response_type', 'This response_type is not offered')
  if (!client.responseTypes.has(type))
    throw refuse('unauthorized_client', 'The client is not configured for this response_type')
  return type
}

export function checkResponseMode({ parameters }: Ask): void {
  const mode = parameters.get('response_mode')
  if (mode === undefined || mode === 'form_post' || mode === 'fragment') return
  if (mode !== 'query') throw refuse('invalid_request', 'This response_mode is not offered')
  if (defaultMode(parameters.get('response_type')) !== 'query')
    throw refuse('invalid_request', 'Tokens never travel in a query: use fragment or form_post')
}
