SELECT 1;
-- new note
SELECT 2;
