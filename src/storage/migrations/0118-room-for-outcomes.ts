/**
 * Half of each new page of `recipients` is left for later versions of its rows. A page of the outcome feed moves all
 * rows of a page at once, so that none of their earlier versions can make room: with 30 % half of the updates found no
 * room beside the version before, and wrote an entry into each of the table's indexes. Pages that are there keep what
 * they have.
 */
export const UP = `
alter table recipients set (fillfactor = 50);
`;
