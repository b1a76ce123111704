/** Parts of the lists of connections: of streams, and of tools. */
import { gate } from '../gate.ts'
import { confirm, type Question } from '../shell/dialogs.tsx'
import { toast, toastError } from '../shell/toasts.tsx'
import { Notice } from '../ui/index.ts'

/** The nodes that a list of all nodes lacks. */
export function SilentNodes({ nodes }: { readonly nodes: readonly string[] }) {
  if (nodes.length === 0) return null
  return <Notice kind="warning">These nodes did not answer and are not included below: {nodes.join(', ')}.</Notice>
}

/** Asks, closes one connection or several, and says what happened. Whether some were closed. */
export async function closeConnections(question: Omit<Question, 'danger'>, path: string): Promise<boolean> {
  if (!(await confirm({ ...question, danger: true }))) return false
  try {
    const response = await gate.request(path, { method: 'DELETE' })
    const { closed } = (await response.json()) as { closed: number }
    toast(closed === 1 ? 'One connection was closed' : `${closed} connections were closed`)
    return true
  } catch (error) {
    toastError(error, 'The connection could not be closed')
    return false
  }
}
