/** The HTTP route of the streaming service in /openapi.json; the protocol itself is in docs/streaming.md. */

import { isPlatformScope, SCOPES, STREAM_PATH } from 'gatehouse-protocol'
import type { ApiRoute } from '../../http/openapi.ts'

const TEXT = { type: 'string' }

export function describeStreaming(): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: `${STREAM_PATH}/topics`,
      tag: 'Streaming',
      summary: 'Lists the controllers and topics of the stream that you may use.',
      scopes: SCOPES.filter(isPlatformScope),
      replies: {
        200: {
          description: 'The controllers with their topics.',
          content: {
            'application/json': {
              type: 'object',
              properties: { items: { type: 'array', items: CONTROLLER } },
            },
          },
        },
      },
    },
  ]
}

const CONTROLLER = {
  type: 'object',
  properties: {
    controller: TEXT,
    summary: TEXT,
    topics: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          topic: { ...TEXT, description: 'A name that ends in /* stands for every topic with that prefix.' },
          summary: TEXT,
          needs: { ...TEXT, description: 'nothing, identity, or a scope.' },
          actions: { type: 'array', items: { enum: ['publish', 'subscribe'] } },
        },
      },
    },
  },
}
