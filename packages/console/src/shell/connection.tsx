/** The state of the connection to the gate, at the foot of the navigation. */
import { connect, connection } from '../gate.ts'
import { Button } from '../ui/index.ts'
import { word } from '../ui/word.ts'

const WORDS = {
  connecting: word('Connecting …'),
  online: word('Online'),
  lapsed: word('Renewing access …'),
  offline: word('Offline'),
  ended: word('Disconnected'),
} as const

export function ConnectionState() {
  const { state, reason } = connection.value
  return (
    <div class={`connection ${state}`} title={reason === '' ? undefined : reason}>
      <span class="connection-dot" aria-hidden="true" />
      <span role="status">{WORDS[state]}</span>
      {state === 'ended' && (
        <Button size="small" onClick={connect}>
          Connect
        </Button>
      )}
    </div>
  )
}
