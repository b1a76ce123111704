/** The area Boards: their list, and the board that the address names. */
import type { AreaProps } from '../../shell/area.ts'
import { BoardPage } from './board.tsx'
import './boards.css'
import './kiosk.css'
import './list.css'
import { BoardList } from './list.tsx'

export default function Boards({ path: [id], query }: AreaProps) {
  return id === undefined ? <BoardList /> : <BoardPage key={id} id={id} query={query} />
}
