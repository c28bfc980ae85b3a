/** Runs `act` as the user nobody where the tests run as root, who may read every file. */
export async function asNobody<T>(act: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return act()
  process.seteuid?.('nobody')
  try {
    return await act()
  } finally {
    process.seteuid?.(0)
  }
}
