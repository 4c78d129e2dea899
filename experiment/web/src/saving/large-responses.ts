/** Storage of large responses in the browser, in IndexedDB: a page's local storage has room for about five million
 * characters only. If the browser refuses access to IndexedDB, the functions reject.
 */

const STORE = "responses";

export function putLarge(response_id: string, entry: string): Promise<unknown> {
  return inStore("readwrite", (store) => store.put(entry, response_id));
}

export function deleteLarge(response_id: string): Promise<unknown> {
  return inStore("readwrite", (store) => store.delete(response_id));
}

export function allLarge(): Promise<string[]> {
  return inStore<string[]>("readonly", (store) => store.getAll());
}

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await openDatabase();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = db.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error); // such as a full disk
    });
  } finally {
    db.close();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("equipoise", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}
