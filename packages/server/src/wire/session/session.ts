/** A session that runs no statements yet: each is answered with an error. */
import { errorResponse, readyForQuery } from '../protocol/replies.ts'
import type { OpenSession } from './contract.ts'

export const openSession: OpenSession = (_caller, output) => ({
  isIdle: true,
  begin() {
    output.write(readyForQuery('I'))
  },
  handle(message) {
    if (message.kind === 'terminate') return output.close()
    if (message.kind !== 'query' && message.kind !== 'sync') return
    if (message.kind === 'query')
      output.write(errorResponse({ severity: 'ERROR', sqlstate: '0A000', message: 'Statements are not supported yet' }))
    output.write(readyForQuery('I'))
  },
  cancel() {},
  end() {},
})
