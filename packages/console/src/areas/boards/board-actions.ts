/** What can be done with a board as a whole. Each action says what happened. */
import { gate } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { createBoard, type OpenBoard } from './open-board.ts'

export async function saveBoard(board: OpenBoard): Promise<void> {
  const { name } = board.edited.value
  try {
    if (await board.save()) toast(`“${name}” was saved`)
  } catch (error) {
    toastError(error, `“${name}” was not saved`)
  }
}

/** Asks first if there are changes. */
export async function discardChanges(board: OpenBoard): Promise<void> {
  const isSure =
    !board.isChanged.value ||
    (await confirm({
      title: 'Discard your changes?',
      text: `“${board.document.value.name}” is shown as last saved.`,
      action: 'Discard',
      danger: true,
    }))
  if (isSure) board.discard()
}

export async function deleteBoard(board: OpenBoard): Promise<void> {
  const { name, tiles } = board.edited.value
  const isSure = await confirm({
    title: `Delete “${name}”?`,
    text:
      tiles.length === 1
        ? 'Its tile is lost, and links to it stop working. The data itself is not deleted.'
        : `Its ${tiles.length} tiles are lost, and links to it stop working. The data itself is not deleted.`,
    action: 'Delete',
    danger: true,
  })
  if (!isSure) return
  try {
    await gate.saved.delete(board.id)
    board.discard()
    toast(`“${name}” was deleted`)
    go(href('boards'))
  } catch (error) {
    toastError(error, `“${name}” was not deleted`)
  }
}

/** Saves the board with its changes as another one, and opens that. */
export async function copyBoard(board: OpenBoard, name: string): Promise<void> {
  const copy = await createBoard(name, board.body)
  board.conflict.value = undefined
  board.discard()
  toast(`“${name}” was saved as your own board`)
  go(href('boards', copy.id))
}
