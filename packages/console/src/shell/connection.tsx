/** The state of the connection to the gate, at the foot of the navigation. */
import { connect, connection } from '../gate.ts'
import { Button } from '../ui/index.ts'

const WORDS = {
  connecting: 'Connecting …',
  online: 'Online',
  lapsed: 'Renewing access …',
  offline: 'Offline',
  ended: 'Disconnected',
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
