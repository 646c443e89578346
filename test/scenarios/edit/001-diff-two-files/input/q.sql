SELECT 1;
-- old note
SELECT 2;
